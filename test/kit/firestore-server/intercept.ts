import { StatusError } from "./status-error.ts";

/** A request that has arrived and has not been carried out yet. */
export interface InterceptedCall {
  /** The gRPC method, such as `Commit`. */
  readonly method: string;
  /** The request's message, as messages.ts describes it. */
  readonly request: unknown;
}

/** The answer in place of the reply. */
export interface Fault {
  /** A gRPC status code, such as 14 for UNAVAILABLE. */
  readonly code: number;
  readonly message: string;
  /**
   * The request is carried out all the same, and only its reply is lost. One that fails by itself is answered
   * with its own error. @defaultValue false
   */
  readonly afterCommit?: boolean | undefined;
}

/**
 * Looks at every request before it is carried out, each message of a Listen stream among them. The request waits until
 * the promise resolves: with nothing, and it is carried out; with a fault, and it fails. One that never resolves is never
 * answered. A client that no longer waits does not keep its request from being carried out.
 */
export type Intercept = (call: InterceptedCall) => Promise<Fault | void>;

/** Carries out one request as `intercept` says. */
export async function intercepted<Response>(
  intercept: Intercept | undefined,
  call: InterceptedCall,
  carryOut: () => Response,
): Promise<Response> {
  const fault = await intercept?.(call);
  if (!fault) return carryOut();
  if (fault.afterCommit === true) carryOut();
  throw new StatusError(fault.code, fault.message);
}
