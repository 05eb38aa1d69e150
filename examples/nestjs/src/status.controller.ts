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

  /** Does not depend on the store, because an outage would otherwise restart every process. */
  @Get("health/live")
  live(): ElectorHealth {
    return this.#billing.elector.health();
  }

  /** Standbys are ready too. A process that has never reached the store is not ready. */
  @Get("health/ready")
  ready(): ElectorHealth {
    const health = this.#billing.elector.health();
    if (health.lastContactAgeMs === undefined) throw new ServiceUnavailableException(health);
    return health;
  }

  /** A slow request, to show that it is answered while the process stops. */
  @Get("slow")
  async slow(): Promise<object> {
    this.#logger.log("Answering slowly.");
    await delay(5_000);
    return { answered: true };
  }
}
