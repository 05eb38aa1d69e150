/** More about a line, for machines: flat, and nothing secret in it. */
export type LogAttributes = Readonly<Record<string, unknown>>;

/** A logger, as `console`, winston and many others are; see {@link pinoLogger} for pino. */
export interface Logger {
  debug(message: string, attributes?: LogAttributes): void;
  info(message: string, attributes?: LogAttributes): void;
  warn(message: string, attributes?: LogAttributes): void;
  error(message: string, attributes?: LogAttributes): void;
}

/** The levels of a line. */
export type LogLevel = keyof Logger;

/** A logger as pino is: it takes the attributes first, and drops those that come second. */
export type PinoLike = Record<LogLevel, (attributes: object, message: string) => void>;

/** One for each pino: what reports once for each logger knows it again. */
const pinos = new WeakMap<PinoLike, Logger>();

/**
 * Makes a logger of a pino.
 *
 * @example
 * ```ts
 * const elector = new Elector({ store, election, logger: pinoLogger(pino()) });
 * ```
 */
export function pinoLogger(pino: PinoLike): Logger {
  const known = pinos.get(pino);
  if (known) return known;
  const at =
    (level: LogLevel) =>
    (message: string, attributes: LogAttributes = {}): void =>
      pino[level](attributes, message);
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  pinos.set(pino, logger);
  return logger;
}
