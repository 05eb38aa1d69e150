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
   * True if the request is carried out, and only its reply is lost. A request that fails by itself gets its own error.
   * @defaultValue false
   */
  readonly afterCommit?: boolean | undefined;
}

/**
 * Called with every request before it is carried out, also with each message of a Listen stream. The request waits until the
 * promise resolves. If it resolves with nothing, the request is carried out; with a fault, the request fails. If it never
 * resolves, the request is never answered. A request is also carried out if its client no longer waits.
 */
export type Intercept = (call: InterceptedCall) => Promise<Fault | void>;

/** Carries out one request as `intercept` decides. */
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
