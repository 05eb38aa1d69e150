import { status } from "@grpc/grpc-js";

/** A gRPC status other than OK, in place of a reply. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Returns anything thrown as a status. An error that this server does not throw on purpose is a bug in it, and is shown in full.
 */
export function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  return new StatusError(status.INTERNAL, error instanceof Error ? (error.stack ?? error.message) : String(error));
}

export function notFound(message: string): StatusError {
  return new StatusError(status.NOT_FOUND, message);
}

export function invalidArgument(message: string): StatusError {
  return new StatusError(status.INVALID_ARGUMENT, message);
}

export function failedPrecondition(message: string): StatusError {
  return new StatusError(status.FAILED_PRECONDITION, message);
}

/** Returns the status of a feature that Firestore has and this server does not. */
export function unimplemented(what: string): StatusError {
  return new StatusError(status.UNIMPLEMENTED, `This server does not implement ${what}.`);
}
