import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The clock of this host that all of its processes share and nobody sets; after a restart it begins anew. */
export interface HostClock {
  /** Names one run of one host, and no other. */
  readonly identity: string;
  /** Milliseconds since the host was started. It may stand still while the host is suspended. */
  nowMs(): number;
}

/**
 * The monotonic clock of the operating system. The uptime is no substitute: some systems give it in whole seconds, and
 * in some each container has its own.
 */
export const hostClock: HostClock = {
  get identity() {
    identity ??= bootId() ?? hostname();
    return identity;
  },
  nowMs: () => Number(process.hrtime.bigint()) / 1e6,
};

let identity: string | undefined;

/** Returns Linux's name of its present run. Elsewhere the host's name will do: a clock that began anew only makes ages smaller. */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
