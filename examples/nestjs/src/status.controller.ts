import { setTimeout as delay } from "node:timers/promises";
import type { ElectorHealth } from "@leasehold/core";
import { Controller, Get, Logger, ServiceUnavailableException } from "@nestjs/common";
import { Billing } from "./billing.ts";

@Controller()
export class StatusController {
  readonly #billing: Billing;
  readonly #logger = new Logger(StatusController.name);

  constructor(billing: Billing) {
    this.#billing = billing;
  }

  /** Never a matter of the store: an outage would restart every process. */
  @Get("health/live")
  live(): ElectorHealth {
    return this.#billing.elector.health();
  }

  /** Standbys are ready, too. One that has never reached the store is not. */
  @Get("health/ready")
  ready(): ElectorHealth {
    const health = this.#billing.elector.health();
    if (health.lastContactAgeMs === undefined) throw new ServiceUnavailableException(health);
    return health;
  }

  /** A request that takes a while, to see that it is answered although the process stops. */
  @Get("slow")
  async slow(): Promise<object> {
    this.#logger.log("Answering slowly.");
    await delay(5_000);
    return { answered: true };
  }
}
