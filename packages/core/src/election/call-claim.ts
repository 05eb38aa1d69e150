import { AlreadyAbortedError, ElectorBusyError } from "../reporting/errors.ts";
import { checkSignal } from "../store/options.ts";

/** The call that an elector is busy with. */
export interface Call {
  readonly name: string;
  /** Aborts with the caller's signal, and by `stop`. */
  readonly signal: AbortSignal;
  /** Ends the call as the abort of the caller's signal does. */
  stop(): void;
  /** Resolves once the elector is free again. */
  readonly over: Promise<void>;
}

/** Keeps an elector to one call at a time. */
export class CallClaim {
  readonly #election: string;
  #call: (Call & { free(): void }) | undefined;

  constructor(election: string) {
    this.#election = election;
  }

  /** The call under way. */
  get call(): Call | undefined {
    return this.#call;
  }

  /**
   * Claims the elector for a call.
   *
   * The signal of the call is linked to the caller's by one listener: many electors may share that one, and each listener
   * more makes adding and removing the others slower.
   * @throws {ElectorBusyError} while another call is under way. {ConfigurationError} for what is no signal.
   *   {AlreadyAbortedError} if it has aborted.
   */
  begin(name: string, given: AbortSignal | undefined): Call {
    const election = this.#election;
    if (this.#call) throw new ElectorBusyError(election, name, this.#call.name);
    checkSignal(name, given, election);
    if (given?.aborted) throw new AlreadyAbortedError(name, given, election);
    const linked = new AbortController();
    const onAbort = (): void => linked.abort(given?.reason);
    given?.addEventListener("abort", onAbort, { once: true });
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#call = {
      name,
      signal: linked.signal,
      stop: () => linked.abort(new DOMException(`The elector of '${election}' was stopped.`, "AbortError")),
      over,
      free: () => {
        given?.removeEventListener("abort", onAbort);
        resolve();
      },
    };
    return this.#call;
  }

  /** Ends the claim. */
  free(): void {
    const call = this.#call;
    this.#call = undefined;
    call?.free();
  }
}
