import { setTimeout as delay } from "node:timers/promises";
import { Elector, type Leadership } from "@leasehold/core";
import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from "@nestjs/common";
import { LeaseStore } from "./lease-store.ts";

/** Bills in one process of all that run this service. */
@Injectable()
export class Billing implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly elector: Elector;
  /** Resolves once this process has stopped competing because it had to. @throws the error of the work or of the store. */
  readonly ended: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #logger = new Logger(Billing.name);

  constructor(store: LeaseStore) {
    this.ended = this.#ended.promise;
    this.elector = new Elector({
      store,
      election: "billing",
      leaseDurationMs: Number(process.env["LEASE_DURATION_MS"] ?? 15_000),
      // Work that does not stop must not continue beside the next leader's work, so the process ends with exit code 70.
      onOverrun: "exit",
      logger: {
        debug: (message) => this.#logger.debug(message),
        info: (message) => this.#logger.log(message),
        warn: (message) => this.#logger.warn(message),
        error: (message) => this.#logger.error(message),
      },
    });
  }

  /** Not awaited, so that the application answers requests while this process is a standby. */
  onApplicationBootstrap(): void {
    this.elector.run((leadership) => this.#bill(leadership)).then(this.#ended.resolve, this.#ended.reject);
  }

  /** Awaited before the server waits for its requests. Another process leads by then. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.elector.stop();
  }

  async #bill({ signal, term }: Leadership): Promise<void> {
    for (let batch = 1; !signal.aborted; batch += 1) {
      await delay(100);
      this.#logger.log(`Billed batch ${batch} of term ${term}.`);
      await delay(900, undefined, { signal });
    }
  }
}
