import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";
import * as core from "@leasehold/core";
import * as diagnostics from "@leasehold/core/diagnostics";
import * as occurrences from "@leasehold/core/occurrences";
import * as provider from "@leasehold/core/provider";
import { RecordLeaseStore, RecordOccurrenceStore } from "@leasehold/core/provider";
import { ProcessClock, type ProcessClockOptions, type SimulatedRecordService, type VirtualClock } from "@leasehold/core/testing";
import { build } from "esbuild";

const require = createRequire(import.meta.url);
/** Packages that others import only if they are installed. */
const OPTIONAL = ["@nestjs/microservices", "@nestjs/websockets", "@nestjs/platform-*", "class-validator", "class-transformer"];
const OURS: Readonly<Record<string, unknown>> = {
  "@leasehold/core": core,
  "@leasehold/core/diagnostics": diagnostics,
  "@leasehold/core/occurrences": occurrences,
  "@leasehold/core/provider": provider,
};

/** Timers are late by less than this. */
const LATE_MS = 15;

const bundles = new Map<string, Promise<string>>();

/** One host in virtual time. Published scheduler packages run on its own clocks, and it has its own connection to the store. */
export class Host {
  readonly clock: ProcessClock;
  readonly store: core.LeaseStore;

  constructor(world: VirtualClock, service: SimulatedRecordService, options: ProcessClockOptions = {}) {
    this.clock = new ProcessClock(world, options);
    const { clock } = this;
    const records = service.connect(clock);
    this.store = Object.assign(new RecordLeaseStore(records, { clock }), {
      occurrences: () => new RecordOccurrenceStore(records, { clock }),
    });
  }

  /** Loads the exports of `entry`, with this host's `Date` and timers instead of the process's. */
  async load<Module>(entry: string): Promise<Module> {
    const bundle = bundles.get(entry) ?? bundled(entry);
    bundles.set(entry, bundle);
    const { clock } = this;
    const globals = {
      ...this.#timers(),
      Date: dateOf(clock),
      Function,
      // node-schedule asks whether a job returned an instance of it.
      Promise,
      performance: { now: () => clock.monotonicMs() },
      process,
      console,
      crypto,
      Buffer,
      URL,
      AbortSignal,
      AbortController,
      DOMException,
      queueMicrotask,
      setImmediate,
    };
    const module = `const module = { exports: {} }; const { exports } = module; ${await bundle}\nreturn module.exports;`;
    const load = runInNewContext(`(function (require) { ${module} })`, globals) as (require: (name: string) => unknown) => Module;
    return load((name) => OURS[name] ?? (require(name) as unknown));
  }

  #timers(): object {
    const { clock } = this;
    class Timeout {
      readonly timer: provider.Timer;
      constructor(timer: provider.Timer) {
        this.timer = timer;
      }
      ref(): this {
        return this;
      }
      unref(): this {
        return this;
      }
    }
    return {
      // Like Node's timers: at least a millisecond, and a little late.
      setTimeout: (callback: (...args: unknown[]) => void, delayMs = 1, ...args: unknown[]) => {
        const lateMs = clock.random() * LATE_MS;
        return new Timeout(clock.setTimer(() => callback(...args), Math.max(Math.trunc(delayMs), 1) + lateMs));
      },
      clearTimeout: (timeout: Timeout | undefined) => timeout?.timer.cancel(),
    };
  }
}

async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname, loader: "ts" },
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    // Resolve to sources, so that no build is needed.
    conditions: ["@leasehold/source"],
    external: [...Object.keys(OURS), ...OPTIONAL],
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
  });
  return outputFiles[0]?.text ?? "";
}

/** Returns a `Date` whose present time is a clock's. */
function dateOf(clock: provider.Clock): DateConstructor {
  return new Proxy(Date, {
    construct: (target, args: [], self) =>
      Reflect.construct(target, args.length === 0 ? [Math.floor(clock.wallMs())] : args, self) as object,
    apply: () => new Date(Math.floor(clock.wallMs())).toString(),
    get: (target, name): unknown => (name === "now" ? () => Math.floor(clock.wallMs()) : Reflect.get(target, name)),
  });
}
