import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The clock of this host that all of its processes share and nobody sets; after a restart it begins anew. */
export interface HostClock {
  /** Tells one run of one host from every other. */
  readonly identity: string;
  /** Milliseconds since the host was started. It may stand still while the host is suspended. */
  nowMs(): number;
}

/**
 * The monotonic clock of the operating system. Its uptime would be the same, were it told in more than seconds
 * everywhere, and were it not each container's own in some.
 */
export const hostClock: HostClock = {
  get identity() {
    identity ??= bootId() ?? hostname();
    return identity;
  },
  nowMs: () => Number(process.hrtime.bigint()) / 1e6,
};

let identity: string | undefined;

/** What Linux calls its present run. Elsewhere the host's name will do: a clock that began anew only makes ages smaller. */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
