import { hostMs } from "@leasehold/test-kit/clocks/host-clock";

/** Returns the milliseconds since `originMs`, an earlier reading of the host's clock, to a hundredth. */
export function demoMs(originMs = 0): number {
  return Math.round((hostMs() - originMs) * 100) / 100;
}
