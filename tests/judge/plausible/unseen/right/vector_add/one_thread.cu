// grid: 1
// block: 1
// One thread does everything, eight elements at a time, with Duff's device for the rest.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    if (n <= 0) return;
    int i = 0, rounds = (n + 7) / 8;
    switch (n % 8) {
        case 0: do { c[i] = a[i] + b[i]; ++i;
        case 7:      c[i] = a[i] + b[i]; ++i;
        case 6:      c[i] = a[i] + b[i]; ++i;
        case 5:      c[i] = a[i] + b[i]; ++i;
        case 4:      c[i] = a[i] + b[i]; ++i;
        case 3:      c[i] = a[i] + b[i]; ++i;
        case 2:      c[i] = a[i] + b[i]; ++i;
        case 1:      c[i] = a[i] + b[i]; ++i;
                } while (--rounds > 0);
    }
}
