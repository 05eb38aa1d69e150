/** One moment on the two clocks that all processes of this machine have in common. */
export interface MachineInstant {
  /** By the operating system's monotonic clock, in milliseconds; it may stand still while the machine is suspended. */
  readonly monotonicMs: number;
  /** By the wall clock, in milliseconds since the Unix epoch. */
  readonly wallMs: number;
}

/** The present moment. */
export function machineNow(): MachineInstant {
  return { monotonicMs: Number(process.hrtime.bigint()) / 1e6, wallMs: Date.now() };
}

/** Returns the moment that comes `ms` after another one. */
export function after({ monotonicMs, wallMs }: MachineInstant, ms: number): MachineInstant {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}

/** Returns the time from `now` to an instant, by the clock that reaches it first; not positive once one of them has. */
export function untilMs(instant: MachineInstant, now: MachineInstant): number {
  return Math.min(instant.monotonicMs - now.monotonicMs, instant.wallMs - now.wallMs);
}

/** Reports whether an instant has come, by either clock. */
export function isDue(instant: MachineInstant, now: MachineInstant): boolean {
  return untilMs(instant, now) <= 0;
}

/** Reports whether something that has begun has lasted for so long. */
export function hasLasted(since: MachineInstant | undefined, ms: number, now: MachineInstant): boolean {
  return since !== undefined && isDue(after(since, ms), now);
}

/** Returns, of two instants, each clock's earlier one. */
export function earlier(one: MachineInstant, other: MachineInstant): MachineInstant {
  return { monotonicMs: Math.min(one.monotonicMs, other.monotonicMs), wallMs: Math.min(one.wallMs, other.wallMs) };
}
