import { observeElections } from "@leasehold/opentelemetry";

declare const sdk: { start(): void };

sdk.start(); // a NodeSDK, or whatever sets the global providers
const observation = observeElections();

export const observations = [observation];
