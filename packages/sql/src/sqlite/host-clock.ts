import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A clock that all processes of this host share, and that no administrator sets. It starts again at a restart of the host. */
export interface HostClock {
  /** Names this run of this host. Another host or another run has another name. */
  readonly identity: string;
  /** Milliseconds since the host was started. The value may stand still while the host is suspended. */
  nowMs(): number;
}

/**
 * The monotonic clock of the operating system. The uptime cannot replace it: some systems give it in whole seconds, and on some
 * each container has its own.
 */
export const hostClock: HostClock = {
  get identity() {
    identity ??= bootId() ?? hostname();
    return identity;
  },
  nowMs: () => Number(process.hrtime.bigint()) / 1e6,
};

let identity: string | undefined;

/**
 * Returns Linux's name of its present run. Other systems use the name of the host, which is enough: after a restart the clock is
 * smaller, and so are the ages.
 */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
