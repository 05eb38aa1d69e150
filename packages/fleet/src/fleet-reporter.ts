// The events of a member, for its listeners, its log and the diagnostics channel.

import { channel } from "node:diagnostics_channel";
import { isLeaseholdError } from "@leasehold/core";
import { FLEET_CHANNEL, type FleetHandle, type PublishedFleetEvent } from "@leasehold/core/diagnostics";
import { Journal, Listeners, redact } from "@leasehold/core/provider";
import type { FleetEvents } from "./fleet-events.ts";
import type { FleetSettings } from "./fleet-options.ts";
import type { GivenBack } from "./revise.ts";

/** The kinds of problems: the answer of the function `shards`, lists that differ, a plan that is full, and a reset that was interrupted. */
type ProblemKind = "answer" | "lists" | "room" | "reset";

export class FleetReporter {
  readonly listeners: Listeners<FleetEvents>;
  readonly #journal: Journal;
  readonly #common: { readonly fleet: string; readonly memberId: string };
  readonly #channel = channel(FLEET_CHANNEL);
  readonly #member: WeakRef<FleetHandle>;
  /** The failure that was written last, until the store answers again. */
  #failure: string | undefined;
  /** The problems that last, by their kinds. The same one is not repeated. */
  readonly #problems = new Map<ProblemKind, string | undefined>();

  constructor({ logger, names, memberId }: FleetSettings, member: FleetHandle) {
    this.#journal = Journal.to(logger);
    this.#member = new WeakRef(member);
    this.#common = { fleet: names.fleet, memberId };
    this.listeners = new Listeners((event, error) => this.#listenerFailed(event, error));
  }

  /** Writes a line, publishes the event, and calls the listeners. */
  emit<Name extends keyof FleetEvents>(name: Name, event: FleetEvents[Name]): void {
    if (name !== "renewed") this.#write(name, event);
    this.#publish(name, 1);
    this.listeners.emit(name, event);
  }

  #publish(name: keyof FleetEvents | "moved", count: number): void {
    if (!this.#channel.hasSubscribers) return;
    this.#channel.publish({ ...this.#common, name, count, member: this.#member } satisfies PublishedFleetEvent);
  }

  #write<Name extends keyof FleetEvents>(name: Name, event: FleetEvents[Name]): void {
    const { fleet } = this.#common;
    const shard = "shard" in event ? event.shard : undefined;
    const attributes = { ...this.#common, ...(shard ? { shard: shard.name, term: shard.term } : event) };
    if (name === "shardFailed") {
      const why = messageOf((event as FleetEvents["shardFailed"]).error);
      const text = `The shard '${shard?.name}' of '${fleet}' (term ${shard?.term}) has failed here: ${why}`;
      this.#journal.warn("LEASEHOLD_SHARD_FAILED", "error", text, { ...attributes, error: why });
    } else if (name === "overrun") {
      const text = `The task of the shard '${shard?.name}' of '${fleet}' (term ${shard?.term}) has not settled in time. Its shard is over.`;
      this.#journal.warn("LEASEHOLD_OVERRUN", "error", text, attributes);
    } else this.#journal.write("info", `${fleet}: ${name}${shard ? ` ${shard.name}` : ""}`, attributes);
  }

  givenBack({ shard, how, fails }: GivenBack, restMs: number): void {
    const { fleet } = this.#common;
    const text = `The shard '${shard}' of '${fleet}' was given back (${how}), and rests for ${Math.round(restMs)} ms.`;
    this.#journal.write(how === "returned" || how === "released" ? "debug" : "warn", text, {
      ...this.#common,
      shard,
      failures: fails,
      restMs,
    });
  }

  moved(shards: number): void {
    this.#publish("moved", shards);
    this.#journal.write("info", `${this.#common.fleet}: ${shards} shards move for balance`, { ...this.#common, shards });
  }

  /** Writes a problem that a person has to know of. `undefined`: there is none of the kind any more. */
  problem(kind: ProblemKind, problem: string | undefined): void {
    const former = this.#problems.get(kind);
    this.#problems.set(kind, problem);
    if (problem === undefined || problem === former) return;
    this.#journal.warn("LEASEHOLD_FLEET", "error", redact(problem), this.#common);
  }

  /** Writes the first failure of a kind, and that the store answers again. */
  contact(error: unknown): void {
    const { fleet } = this.#common;
    const failure = error === undefined ? undefined : messageOf(error);
    const kind = isLeaseholdError(error) ? error.code : failure;
    if (kind === this.#failure) return;
    const former = this.#failure;
    this.#failure = kind;
    if (failure !== undefined) {
      const text = `The fleet '${fleet}' cannot be kept up to date here: ${failure}`;
      this.#journal.warn("LEASEHOLD_STORE_FAILED", "warn", text, { ...this.#common, error: failure });
    } else if (former !== undefined) {
      this.#journal.warn("LEASEHOLD_STORE_RECOVERED", "info", `The fleet '${fleet}' is up to date again.`, this.#common);
    }
  }

  #listenerFailed(event: string, error: unknown): void {
    const text = `A listener for '${event}' of the fleet '${this.#common.fleet}' threw: ${messageOf(error)}`;
    this.#journal.warn("LEASEHOLD_LISTENER_FAILED", "error", text, this.#common);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? redact(error.message) : redact(String(error));
}
