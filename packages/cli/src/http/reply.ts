/** The answer to an HTTP request. */
export interface HttpReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The methods that the path takes. Set if the request has another method. */
  readonly allow?: string;
}

const JSON_TYPE = "application/json";

/** Returns an answer whose body is one line of JSON. */
export function json(status: number, body: object): HttpReply {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}

/** Returns an answer whose body describes an error. */
export function mistake(status: number, error: string): HttpReply {
  return json(status, { error });
}

/** The answer to a change that succeeded, and has no content. */
export const NO_CONTENT: HttpReply = { status: 204, type: JSON_TYPE, body: "" };
