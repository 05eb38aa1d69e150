/** The answer to an HTTP request. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The methods that the path takes. Set if the request has another method. */
  readonly allow?: string;
}

const JSON_TYPE = "application/json";

/** Returns an answer whose body is one line of JSON. */
export function json(status: number, body: object): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}

/** Returns an answer whose body describes an error. */
export function mistake(status: number, error: string): Answer {
  return json(status, { error });
}
