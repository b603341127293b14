// Mandelbrot: a thread iterates z = z^2 + c for its pixel, a few steps at a launch; z and the count stay in memory.
//
// Mapping: thread (x, y) -> pixel (column, row). A warp is 8 x 4 pixels, not 32 x 1: it is done when its last lane is,
//   and points of a square leave at more nearly the same time than those of a line.
//
// block: 8 16
// grid: ceil(W/8) ceil(H/16)

constexpr double FAR = 1 << 16;  // |z|^2 at which a point has left: far out the fraction of a count is smooth

// `escape`: iterations until the point left, with a fraction; 0 while it has not.
extern "C" __global__ void mandelbrot(double2* z, float* escape, int W, int H, double left, double top, double pixel,
                                      int done, int steps)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const size_t i = (size_t)row * W + column;
    if (escape[i] > 0.0f) return;

    const double cx = left + column * pixel, cy = top - row * pixel;
    double2 p = z[i];
    for (int n = 1; n <= steps; ++n) {
        p = make_double2(p.x * p.x - p.y * p.y + cx, 2.0 * p.x * p.y + cy);
        const double square = p.x * p.x + p.y * p.y;
        if (square > FAR) {
            // log2 log2 |z| grows by 1 with each step out here.
            escape[i] = done + n + 1.0f - log2f(0.5f * log2f((float)square));
            break;
        }
    }
    z[i] = p;
}
