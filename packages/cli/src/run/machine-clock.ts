/** One moment on the two clocks that all processes of this machine share. */
export interface MachineInstant {
  /** By the operating system's monotonic clock, in milliseconds. It may stop while the machine is suspended. */
  readonly monotonicMs: number;
  /** By the wall clock, in milliseconds since the Unix epoch. */
  readonly wallMs: number;
}

/** Returns the present moment. */
export function machineNow(): MachineInstant {
  return { monotonicMs: Number(process.hrtime.bigint()) / 1e6, wallMs: Date.now() };
}

/** Returns the moment `ms` after another one. */
export function after({ monotonicMs, wallMs }: MachineInstant, ms: number): MachineInstant {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}

/** Returns the milliseconds to an instant, by the clock that reaches it first. Zero or less once a clock has reached it. */
export function untilMs(instant: MachineInstant, now: MachineInstant): number {
  return Math.min(instant.monotonicMs - now.monotonicMs, instant.wallMs - now.wallMs);
}

/** Reports whether either clock has reached an instant. */
export function isDue(instant: MachineInstant, now: MachineInstant): boolean {
  return untilMs(instant, now) <= 0;
}

/** Reports whether `ms` have passed since an instant, by either clock. False if there is no such instant. */
export function hasLasted(since: MachineInstant | undefined, ms: number, now: MachineInstant): boolean {
  return since !== undefined && isDue(after(since, ms), now);
}

/** Returns the earlier of two instants, for each clock separately. */
export function earlier(one: MachineInstant, other: MachineInstant): MachineInstant {
  return { monotonicMs: Math.min(one.monotonicMs, other.monotonicMs), wallMs: Math.min(one.wallMs, other.wallMs) };
}
