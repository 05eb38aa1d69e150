/**
 * Milliseconds on the host's monotonic clock since `originMs`, another reading of it. Every process of one host reads
 * the same clock, and nobody can set it: instants that different processes logged can be compared.
 */
export function hostMs(originMs = 0): number {
  const [seconds, nanoseconds] = process.hrtime();
  return Math.round((seconds * 1_000 + nanoseconds / 1e6 - originMs) * 100) / 100;
}
