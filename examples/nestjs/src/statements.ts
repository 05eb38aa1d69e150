import { setTimeout as delay } from "node:timers/promises";
import type { ClaimedLeadership } from "@leasehold/core";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import { Injectable, Logger, type BeforeApplicationShutdown } from "@nestjs/common";
import { LeaseStore } from "./lease-store.ts";

const schedule = process.env["SCHEDULE"] ?? "*/10 * * * * *";

/** Sends the statements at each tick of a schedule, in the process that claims the tick first. */
@Injectable()
export class Statements implements BeforeApplicationShutdown {
  readonly store: LeaseStore;
  readonly stop = new AbortController();
  readonly #logger = new Logger(Statements.name);

  constructor(store: LeaseStore) {
    this.store = store;
  }

  /** Nest calls it in every process, and one carries it out. It throws if it is cut short, so that another process does it. */
  @OncePerTick(schedule, { name: "statements", timeZone: "Etc/UTC" }, ({ store, stop }: Statements) => ({
    store,
    signal: stop.signal,
  }))
  async send({ occurrence, signal }: ClaimedLeadership): Promise<void> {
    await delay(200, undefined, { signal });
    this.#logger.log(`Sent the statements of ${new Date(occurrence.scheduledMs).toISOString()}.`);
  }

  beforeApplicationShutdown(): void {
    this.stop.abort();
  }
}
