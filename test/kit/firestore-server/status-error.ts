import { status } from "@grpc/grpc-js";

/** The answer in place of a reply: a gRPC status other than OK. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Anything thrown, as a status; what this server does not mean to throw is a bug in it, and is shown in full. */
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

/** For what Firestore can do and this server cannot. */
export function unimplemented(what: string): StatusError {
  return new StatusError(status.UNIMPLEMENTED, `This server does not implement ${what}.`);
}
