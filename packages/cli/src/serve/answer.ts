/** What is sent back. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The methods that the path takes, where the request's is none of them. */
  readonly allow?: string;
}

const JSON_TYPE = "application/json";

/** Returns an answer that is JSON, on a line. */
export function json(status: number, body: object): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}

/** Returns an answer that says what is wrong. */
export function mistake(status: number, error: string): Answer {
  return json(status, { error });
}
