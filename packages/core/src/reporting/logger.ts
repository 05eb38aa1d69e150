/** The details of a line, for machines: flat, and without secrets. */
export type LogAttributes = Readonly<Record<string, unknown>>;

/** A logger like `console`, winston and many others. For pino see {@link pinoLogger}. */
export interface Logger {
  debug(message: string, attributes?: LogAttributes): void;
  info(message: string, attributes?: LogAttributes): void;
  warn(message: string, attributes?: LogAttributes): void;
  error(message: string, attributes?: LogAttributes): void;
}

export type LogLevel = keyof Logger;

/** A logger like pino. It takes the attributes first, and drops attributes that come second. */
export type PinoLike = Record<LogLevel, (attributes: object, message: string) => void>;

/** One logger for each pino, so that a warning that is given once per logger is not repeated. */
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
