// Loaded into a wrapper before it starts. It records until when the wrapper's leadership is valid, by the kernel's uptime. It
// also causes faults that no signal can cause, and sets the wrapper's wall clock.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync, existsSync } from "node:fs";
import { systemClock } from "@leasehold/core/provider";
import type { PublishedEvent } from "@leasehold/core/diagnostics";
import { uptimeMs } from "./processes.ts";

const { VALIDITY = "", FAULT = "none", FAULT_NOW = "", FAULT_OVER = "", SKEW_MS = "0" } = process.env;
const LOOK_FOR_FAULT_MS = 50;

const faults: Readonly<Record<string, () => void>> = {
  // Blocks the event loop until the file in FAULT_OVER exists.
  blocked: () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(FAULT_OVER)) Atomics.wait(cell, 0, 0, LOOK_FOR_FAULT_MS);
  },
  // Uses more memory than is allowed, so that Node ends the process.
  exhausted: () => {
    const hoard: unknown[] = [];
    for (;;) hoard.push(Array.from({ length: 10_000 }, () => hoard.length));
  },
};

// The fault begins once the file in FAULT_NOW exists.
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
  appendFileSync(VALIDITY, `${uptimeMs() + (elector.deref()?.health().validForMs ?? 0)}\n`);
});
