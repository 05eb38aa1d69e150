import { demoMs, isEvent, type DemoEvent, type EventDetails, type EventName, type EventNamed } from "./demo-event.ts";

export interface Awaited<Name extends EventName> {
  /** Describes the awaited event, for the live view and for the error if it does not come. */
  readonly what: string;
  readonly event: Name | readonly Name[];
  /** The candidate of the event. @defaultValue any candidate */
  readonly of?: string | undefined;
  /** A candidate whose events do not count. */
  readonly notOf?: string | undefined;
  /** The index of the first event in the log that counts. @defaultValue the next event */
  readonly from?: number | undefined;
}

/** All events of the demo, in the order of their arrival. Callers can wait for an event. */
export class EventLog {
  readonly originMs: number = demoMs();
  readonly events: DemoEvent[] = [];
  /** The event that the demo waits for, or waited for when it was stopped. */
  waitingFor: { readonly what: string; readonly since: number } | undefined;
  readonly #signal: AbortSignal;
  readonly #listeners = new Set<(event: DemoEvent) => void>();

  /** @param signal ends every wait with its reason. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** The number of events. A later wait can start from here. */
  get length(): number {
    return this.events.length;
  }

  /** Returns the present time, as in `at`. */
  now(): number {
    return demoMs(this.originMs);
  }

  /** Returns the last term that `candidate` has led. */
  termOf(candidate: string | null): number | null {
    return this.events.findLast((event) => event.candidate === candidate && isEvent(event, "started-leading"))?.term ?? null;
  }

  /** Calls `listener` for every event from now on. Returns a function that removes it. */
  listen(listener: (event: DemoEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds an event that another process has logged with its time. */
  add(event: DemoEvent): void {
    this.events.push(event);
    for (const listener of this.#listeners) listener(event);
  }

  /** Adds an event of this process, with the present time. */
  note<Name extends EventName>(
    event: Name,
    candidate: string | null,
    details: EventDetails[Name],
    term: number | null = null,
  ): void {
    this.add({ at: this.now(), candidate, event, term, ...details } as DemoEvent);
  }

  /** Waits for an event. @throws the signal's reason once it aborts. */
  async next<Name extends EventName>({
    what,
    event: names,
    of,
    notOf,
    from = this.length,
  }: Awaited<Name>): Promise<EventNamed<Name>> {
    const wanted = [names].flat() as Name[];
    const fits = (event: DemoEvent): event is EventNamed<Name> =>
      isEvent(event, ...wanted) && (of === undefined || event.candidate === of) && event.candidate !== notOf;
    const found = this.events.slice(from).find(fits);
    if (found) return found;
    this.#signal.throwIfAborted();
    this.waitingFor = { what, since: this.now() };
    const { promise, resolve, reject } = Promise.withResolvers<EventNamed<Name>>();
    const stop = this.listen((event) => {
      if (fits(event)) resolve(event);
    });
    const onAbort = (): void => reject(this.#signal.reason as Error);
    this.#signal.addEventListener("abort", onAbort, { once: true });
    try {
      const event = await promise;
      this.waitingFor = undefined;
      return event;
    } finally {
      stop();
      this.#signal.removeEventListener("abort", onAbort);
    }
  }
}
