import { hostMs } from "@leasehold/test-kit/clocks/host-clock";

/** Milliseconds by the host's clock since `originMs`, another reading of it, to a hundredth. */
export function demoMs(originMs = 0): number {
  return Math.round((hostMs() - originMs) * 100) / 100;
}
