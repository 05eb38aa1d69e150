// Loaded into a wrapper before it starts: writes down until when its leadership is valid, by the machine's monotonic clock, lets it
// fail as no signal can, and sets its wall clock.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync, existsSync } from "node:fs";
import { systemClock, type PublishedEvent } from "@leasehold/core";

const { VALIDITY = "", FAULT = "none", FAULT_NOW = "", SKEW_MS = "0" } = process.env;
const LOOK_FOR_FAULT_MS = 50;

// No guard can be started.
if (FAULT === "guardless") process.execPath = "/no/such/node";
// The guard is started by this program in place of Node.
if (FAULT === "slow-guard") process.execPath = process.env["SLOW_NODE"]!;

const faults: Readonly<Record<string, () => void>> = {
  // Its event loop is busy for longer than two leases.
  blocked: () => {
    const endMs = performance.now() + 11_000;
    while (performance.now() < endMs);
  },
  // It wants more memory than it may have, and Node ends it.
  exhausted: () => {
    const hoard: unknown[] = [];
    for (;;) hoard.push(Array.from({ length: 10_000 }, () => hoard.length));
  },
};

// The fault comes once the file in FAULT_NOW is there.
const inject = faults[FAULT];
if (inject) {
  const looking = setInterval(() => {
    if (!existsSync(FAULT_NOW)) return;
    clearInterval(looking);
    inject();
  }, LOOK_FOR_FAULT_MS);
  looking.unref();
}

// The wall clock of another host, as the elector and the store see it.
Object.assign(systemClock, { wallMs: () => Date.now() + Number(SKEW_MS) });

subscribe("leasehold:event", (message) => {
  const { name, elector } = message as PublishedEvent;
  if (VALIDITY === "" || (name !== "startedLeading" && name !== "renewed")) return;
  const nowMs = Number(process.hrtime.bigint()) / 1e6;
  appendFileSync(VALIDITY, `${nowMs + (elector.deref()?.health().validForMs ?? 0)}\n`);
});
