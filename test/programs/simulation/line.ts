import { ProcessClock, SeededRandom, type Network, type ProcessClockOptions } from "@leasehold/core/testing";
import { Link } from "./network.ts";
import type { StoreAccess } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** A process: its clocks, its way to the service, and the one store object that everything in it shares. */
export class Line {
  readonly id: string;
  readonly clock: ProcessClock;
  readonly link: Link;
  readonly access: StoreAccess;
  /** How many requests it has sent. */
  requests = 0;
  /** How many of them were neither watching nor being told of what was watched. */
  asked = 0;
  /** When it sent the last one, by its own monotonic clock, which may stand still while its machine is suspended. */
  lastRequestMs: number;
  /** What has befallen them. */
  readonly troubles: Array<{ readonly fault: string; readonly operation: string }> = [];

  /** @param isOperator whoever only gives orders may reach the service in another way. */
  constructor(world: World, id: string, rates: ProcessClockOptions, isOperator = false) {
    const { plan, store, time } = world;
    this.id = id;
    this.clock = new ProcessClock(time, rates);
    this.lastRequestMs = this.clock.monotonicMs();
    const random = new SeededRandom(plan.seed ^ Math.imul(world.links.size + 1, 0xc2b2ae35));
    this.link = new Link({
      world: time,
      plan,
      store,
      random,
      note: (fault, { operation }) => {
        this.troubles.push({ fault, operation });
        world.count(fault);
        world.note(id, `network: ${fault} (${operation})`);
      },
    });
    world.links.add(this.link);
    const network: Network = (request) => {
      this.requests += 1;
      if (request.operation !== "watch") this.asked += 1;
      this.lastRequestMs = this.clock.monotonicMs();
      world.requests += 1;
      return this.link.network(request);
    };
    const administered = isOperator ? store.administer?.(this.clock, network) : undefined;
    this.access = administered ?? store.connect(this.clock, network);
  }
}
