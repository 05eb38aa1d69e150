import { timing } from "@leasehold/core";

console.log(String(timing({ leaseDurationMs: 15_000 })));
