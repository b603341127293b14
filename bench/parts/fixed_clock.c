// Preloaded before programs that draw from time(): both versions draw the same.
long time(long *where) {
    if (where)
        *where = 7;
    return 7;
}
