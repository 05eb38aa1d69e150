import { AlreadyAbortedError } from "../reporting/errors.ts";
import { checkCallOptions, checkSignal } from "../store/options.ts";
import type { WaitOptions } from "./calls.ts";
import { LazyDeferred } from "./lazy-deferred.ts";

/** The call that an elector is busy with. It is the one listener on the caller's signal, which many electors may share. */
export class ActiveCall {
  readonly name: string;
  readonly #given: AbortSignal | undefined;
  readonly #linked = new AbortController();
  readonly #over = new LazyDeferred<void>();

  constructor(name: string, election: string, options: WaitOptions, known: Readonly<Record<string, true>>) {
    checkCallOptions(name, options, known);
    const { signal: given } = options;
    checkSignal(name, given, election);
    if (given?.aborted) throw new AlreadyAbortedError(name, given, election);
    this.name = name;
    this.#given = given;
    // oxlint-disable-next-line eslint/no-restricted-properties -- this object is the listener, so that no closure is made
    given?.addEventListener("abort", this, { once: true });
  }

  /** Aborts with the caller's signal, and by `stop`. */
  get signal(): AbortSignal {
    return this.#linked.signal;
  }

  get over(): Promise<void> {
    return this.#over.promise;
  }

  handleEvent(): void {
    this.#linked.abort(this.#given?.reason);
  }

  stop(election: string): void {
    this.#linked.abort(new DOMException(`The elector of '${election}' was stopped.`, "AbortError"));
  }

  free(): void {
    this.#given?.removeEventListener("abort", this);
    this.#over.resolve();
  }
}
