import { setTimeout as delay } from "node:timers/promises";
import type { ClaimedLeadership } from "@leasehold/core";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import { Injectable, Logger, type BeforeApplicationShutdown } from "@nestjs/common";
import { LeaseStore } from "./lease-store.ts";

const schedule = process.env["SCHEDULE"] ?? "*/10 * * * * *";

/** Sends the statements at each tick of a schedule, in whichever process comes first. */
@Injectable()
export class Statements implements BeforeApplicationShutdown {
  readonly store: LeaseStore;
  readonly stop = new AbortController();
  readonly #logger = new Logger(Statements.name);

  constructor(store: LeaseStore) {
    this.store = store;
  }

  /** Called in every process, and carried out in one. It throws where it is cut short: then another does it. */
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
