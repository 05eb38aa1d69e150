import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@leasehold/core/provider";
import type { Happening, ServedElector } from "./candidate.ts";
import type { ElectionWatch } from "./election-watch.ts";
import type { FleetWatch } from "./fleet-watch.ts";

/** The time between two heartbeats. A proxy may end a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000;
/** The server disconnects a reader with more unread bytes, which is gone or too slow to follow. */
const MOST_UNREAD_BYTES = 1_000_000;

/** The parts of the store that are read while there is a reader. */
export interface Watches {
  readonly fleets?: FleetWatch | undefined;
  /** Every election of the store. Set if this process campaigns in none. */
  readonly listed?: ElectionWatch | undefined;
}

/**
 * The readers of `GET /events`. A new reader gets every election at once, and later each election after an event. Fleets, and the
 * elections without a candidate here, are read and sent while there is a reader.
 */
export class EventStreams implements Disposable {
  readonly #candidates: readonly ServedElector[];
  readonly #clock: Clock;
  readonly #watches: Watches;
  readonly #readers = new Set<ServerResponse>();
  readonly #stops: ReadonlyArray<() => void>;
  #heartbeat: Timer | undefined;

  constructor(candidates: readonly ServedElector[], clock: Clock, watches: Watches = {}) {
    this.#candidates = candidates;
    this.#clock = clock;
    this.#watches = watches;
    this.#stops = candidates.map((candidate) =>
      candidate.onHappening((happening) => {
        if (this.#readers.size > 0) this.#send(messageOf(happening, candidate.view()), this.#readers);
      }),
    );
  }

  get size(): number {
    return this.#readers.size;
  }

  /** Sends events to a response until its client is gone. The head of the response must be written already. */
  add(response: ServerResponse): void {
    this.#readers.add(response);
    response.once("close", () => {
      this.#readers.delete(response);
      if (this.#readers.size > 0) return;
      this.#rest();
    });
    for (const candidate of this.#candidates) this.#send(messageOf("change", candidate.view()), [response]);
    // The elections are listed anew for each reader, which else waits for the next list.
    this.#watches.listed?.start((list) => this.#send(messageOf("list", list), this.#readers));
    if (this.#readers.size > 1) return;
    this.#beat();
    this.#watches.fleets?.start((view) => this.#send(messageOf("fleet", view), this.#readers));
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
    this.#rest();
    for (const reader of this.#readers) reader.end();
  }

  #rest(): void {
    this.#heartbeat?.cancel();
    this.#watches.fleets?.stop();
    this.#watches.listed?.stop();
  }

  #beat(): void {
    this.#heartbeat?.cancel();
    this.#heartbeat = this.#clock.setTimer(() => {
      this.#send(":\n\n", this.#readers);
      this.#beat();
    }, HEARTBEAT_MS);
  }

  #send(message: string, readers: Iterable<ServerResponse>): void {
    for (const reader of readers) {
      if (reader.writableLength > MOST_UNREAD_BYTES) reader.destroy();
      else reader.write(message);
    }
  }
}

function messageOf(event: Happening | "fleet" | "list", data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
