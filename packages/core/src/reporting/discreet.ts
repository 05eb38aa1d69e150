/** The most characters of somebody else's words that an error repeats: a proxy's page may go on for long. */
const MAX_CHARACTERS = 300;

/** The patterns of secrets in the words of a service, a driver or a proxy, and the text that stands in their place. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  // A URL's user and password. A password may hold any character when it was not encoded, a slash or white space too.
  [/([a-z][a-z0-9+.-]*:\/\/)(?:\S*|[^/?#\s:@]*:[^/?#]*\S)@/gi, "$1…@"],
  // A URL's query may be signed.
  [/\?[^\s"'<>]+/g, "?…"],
  // Any UUID may be a lease id.
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "…"],
  // Headers and parts of connection strings, but not the `using password: YES` of MySQL.
  [
    /([\w-]*(?:key|password|passwd|pwd|secret|token|signature|\bsig|credential|authorization)s?"?\s*[=:]\s*)(?!(?:YES|NO)\b)(?:"[^"]*"|[^\s",;&]+)/gi,
    "$1…",
  ],
  // A scheme of authorization with what follows it, but not the word `Bearer token`.
  [/\b(Bearer|Basic|SharedKey|AWS4-HMAC-SHA256)\s+[\w+/.~=:-]{8,}.*/g, "$1 …"],
  // V8 quotes what it could not parse: the beginning of a key file, say.
  [/(Unexpected token ).*(is not valid JSON)/g, "$1… $2"],
  [/".*" is not valid JSON/g, "… is not valid JSON"],
];

/** Returns the first line of somebody else's message, cut to a readable length, without what may be secret in it. */
export function discreet(message: string): string {
  const [line = ""] = message.split("\n", 1);
  return SECRETS.reduce((text, [secret, replacement]) => text.replace(secret, replacement), line).slice(0, MAX_CHARACTERS);
}

/** Returns the text with a full stop, unless it ends like a sentence. */
export function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
