import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@leasehold/core/provider";
import type { Happening, ServedElector } from "./candidate.ts";
import type { FleetWatch } from "./fleet-watch.ts";

/** The time between two heartbeats. A proxy may end a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000;
/** The server disconnects a reader with more unread bytes, which is gone or too slow to follow. */
const MOST_UNREAD_BYTES = 1_000_000;

/**
 * The readers of `GET /events`. A new reader gets every election at once, and later each election after an event. Fleets are read and
 * sent while there is a reader.
 */
export class EventStreams implements Disposable {
  readonly #candidates: readonly ServedElector[];
  readonly #clock: Clock;
  readonly #fleets: FleetWatch | undefined;
  readonly #readers = new Set<ServerResponse>();
  readonly #stops: ReadonlyArray<() => void>;
  #heartbeat: Timer | undefined;

  constructor(candidates: readonly ServedElector[], clock: Clock, fleets?: FleetWatch) {
    this.#candidates = candidates;
    this.#clock = clock;
    this.#fleets = fleets;
    this.#stops = candidates.map((candidate) =>
      candidate.onHappening((happening) => {
        if (this.#readers.size > 0) this.#send(messageOf(happening, candidate), this.#readers);
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
      this.#heartbeat?.cancel();
      this.#fleets?.stop();
    });
    for (const candidate of this.#candidates) this.#send(messageOf("change", candidate), [response]);
    if (this.#readers.size > 1) return;
    this.#beat();
    this.#fleets?.start((view) => this.#send(`event: fleet\ndata: ${JSON.stringify(view)}\n\n`, this.#readers));
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
    this.#heartbeat?.cancel();
    this.#fleets?.stop();
    for (const reader of this.#readers) reader.end();
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

function messageOf(happening: Happening, candidate: ServedElector): string {
  return `event: ${happening}\ndata: ${JSON.stringify(candidate.view())}\n\n`;
}
