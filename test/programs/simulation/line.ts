import { ProcessClock, SeededRandom, type Network, type ProcessClockOptions } from "@leasehold/core/testing";
import { Link } from "./network.ts";
import type { StoreAccess } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** A process: its clocks, its connection to the service, and the one store object that everything in it shares. */
export class Line {
  readonly id: string;
  readonly clock: ProcessClock;
  readonly link: Link;
  readonly access: StoreAccess;
  /** The number of requests that it has sent. */
  requests = 0;
  /** The number of requests without watches and their pushes. */
  asked = 0;
  /** The time of its last request, by its own monotonic clock, which may stop while its machine is suspended. */
  lastRequestMs: number;
  /** The faults of its requests. */
  readonly troubles: Array<{ readonly fault: string; readonly operation: string }> = [];

  /** @param isOperator true for a process that only gives orders. It may reach the service in another way. */
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
