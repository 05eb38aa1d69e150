import { isLeaseholdError } from "./errors.ts";
/** The most characters of a foreign message that an error repeats, because a proxy's error page may be long. */
const MAX_CHARACTERS = 300;

/** The patterns of secrets in messages of a service, a driver or a proxy, with their replacements. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  // A URL's user and password. A password that was not encoded may hold any character, also a slash or white space.
  [/([a-z][a-z0-9+.-]*:\/\/)(?:\S*|[^/?#\s:@]*:[^/?#]*\S)@/gi, "$1…@"],
  // A URL's query may hold a signature.
  [/\?[^\s"'<>]+/g, "?…"],
  // Any UUID may be a lease id.
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "…"],
  // Headers and parts of connection strings, but not MySQL's `using password: YES`.
  [
    /([\w-]*(?:key|password|passwd|pwd|secret|token|signature|\bsig|credential|authorization)s?"?\s*[=:]\s*)(?!(?:YES|NO)\b)(?:"[^"]*"|[^\s",;&]+)/gi,
    "$1…",
  ],
  // A scheme of authorization with the text after it, but not the words `Bearer token`.
  [/\b(Bearer|Basic|SharedKey|AWS4-HMAC-SHA256)\s+[\w+/.~=:-]{8,}.*/g, "$1 …"],
  // V8 quotes text that it could not parse, for instance the beginning of a key file.
  [/(Unexpected token ).*(is not valid JSON)/g, "$1… $2"],
  [/".*" is not valid JSON/g, "… is not valid JSON"],
];

/** Returns the first line of a foreign message, cut to a readable length, without anything that may be secret. */
export function redact(message: string): string {
  const [line = ""] = message.split("\n", 1);
  return SECRETS.reduce((text, [secret, replacement]) => text.replace(secret, replacement), line).slice(0, MAX_CHARACTERS);
}

/** Returns the text with a full stop, unless it ends like a sentence. */
export function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** An error as loggers and health checks print it: the fields that survive JSON. */
export interface ErrorSummary {
  /** The code of an error of Leasehold's, else the error's name. */
  readonly code: string;
  readonly message: string;
}

/** Returns the code and the message of an error, without secrets. Of a foreign message it returns the first line. */
export function summarizeError(error: unknown): ErrorSummary {
  const unknown = "something was thrown that is no error";
  try {
    if (isLeaseholdError(error)) return { code: error.code, message: error.message };
    // Anything can be thrown, so it is only searched for text.
    const { name, message } = (error ?? {}) as { readonly name?: unknown; readonly message?: unknown };
    const words = [message, error].find((value) => typeof value === "string") ?? unknown;
    return { code: typeof name === "string" ? name : "Error", message: redact(words) };
  } catch {
    // A getter or a proxy may throw.
    return { code: "Error", message: unknown };
  }
}
