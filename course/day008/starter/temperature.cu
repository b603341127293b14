// A type K thermocouple: mv[i], 0 to 20.644 millivolts, as degrees Celsius in celsius[i]. The polynomial's coefficients
// of e, e^2 and so on to e^9, where e is the voltage in millivolts (NIST, ITS-90); there is none without e:
//
//   2.508355e1   7.860106e-2   -2.503131e-1   8.315270e-2   -1.228034e-2
//   9.804036e-4  -4.413030e-5   1.057734e-6  -1.052755e-8
//
// A sample that is NaN, from a sensor that failed, goes through the polynomial like any other: of NaN comes NaN,
// and nobody takes it for a temperature.
//
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void thermocouple(const float* mv, float* celsius, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    // 1. Read the voltage.

    // 2. Begin with the coefficient of e^9. Multiply by e and add the next lower one, eight times. Multiply by e again.

    // 3. Store the temperature.
}
