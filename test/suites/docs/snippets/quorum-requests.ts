import { subscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";

export function noticing(): void {
  subscribe(REQUEST_CHANNEL, (message) => {
    const { store, outcome, message: problem } = message as StoreRequest;
    if (outcome !== "ok") console.warn(`${store}: ${outcome}: ${problem}`); // "gcp (firestore): STORE_TIMEOUT: …"
  });
}
