import { subscribe } from "node:diagnostics_channel";
import { EVENT_CHANNEL, type PublishedEvent } from "@leasehold/core/diagnostics";

subscribe(EVENT_CHANNEL, (message) => {
  const { name, candidateId } = message as PublishedEvent;
  console.log(`${candidateId}: ${name}`);
});
