import { ConfigurationError, MemoryLeaseStore, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import { Inject } from "@nestjs/common";
import { Cron, SchedulerRegistry, type CronOptions } from "@nestjs/schedule";
import { dueOf, previousDueOf } from "./due-by-cron.ts";
import { Ticks, type TickOptions } from "./tick.ts";

export type { TickCatchUp, TickOptions } from "./tick.ts";

/** Nest's own options of the job. The name is the name of the schedule, the same on every host. */
export type NamedCronOptions = CronOptions & { readonly name: string };

/** The options of the ticks, or a function of the service that returns them, for a store that Nest injects. */
export type ServiceTickOptions<Service> = Omit<TickOptions, "name"> | ((service: Service) => Omit<TickOptions, "name">);

const WHOSE = "OncePerTick";

/**
 * Replaces Nest's `@Cron`, with the same first two arguments, so that each tick is done once. Any number of hosts may run the
 * service, with any difference of their clocks. The method gets the leadership.
 *
 * The time at which a tick was due is derived from the job's schedule, as in `@leasehold/schedulers/cron`. Nest's scheduler uses
 * cron. Set `timeZone`, because otherwise two hosts that are configured differently have two schedules. Nest logs the errors of
 * the method.
 *
 * `app.close()` waits in `onModuleDestroy` for the ticks that are running. With `enableShutdownHooks()` a signal does the same.
 * Nest destroys a module before the modules that it imports. So close a store of the same module in `onApplicationShutdown`. The
 * guarantees are those of `oncePerOccurrence`.
 *
 * @example
 * ```ts
 * @OncePerTick("0 3 * * *", { name: "close-the-books", timeZone: "Etc/UTC" }, (service: Books) => ({ store: service.store }))
 * async close(leadership: ClaimedLeadership): Promise<void> {
 *   await this.closeBooks(leadership.occurrence, leadership.signal);
 * }
 * ```
 * @throws {ConfigurationError} for options that cannot work, where the class is defined. Options that a function of the service
 * returns are checked at the first tick.
 */
export function OncePerTick<Service extends object>(
  cronTime: Parameters<typeof Cron>[0],
  cronOptions: NamedCronOptions,
  options: ServiceTickOptions<Service>,
): (target: Service, key: string | symbol, descriptor: PropertyDescriptor) => void {
  const name = cronOptions?.name;
  const given = typeof options === "function" ? { store: new MemoryLeaseStore() } : options;
  void new Ticks(WHOSE, { ...given, name }, true);
  return (target, key, descriptor) => {
    const method: unknown = descriptor.value;
    if (typeof method !== "function") throw new ConfigurationError(`${WHOSE} is for a method, which ${String(key)} is not.`);
    const registry = Symbol("SchedulerRegistry");
    Inject(SchedulerRegistry)(target, registry);
    const ticksOf = new WeakMap<Service, Ticks<LeaseStore>>();
    closeBeforeShutdown(target, (service) => ticksOf.get(service)?.close());
    Object.assign(descriptor, {
      async value(this: Service & Readonly<Record<symbol, SchedulerRegistry>>): Promise<void> {
        const ticks =
          ticksOf.get(this) ?? new Ticks(WHOSE, { ...(typeof options === "function" ? options(this) : options), name }, true);
        ticksOf.set(this, ticks);
        const job = (this[registry] as SchedulerRegistry).getCronJob(name);
        const work = (leadership: ClaimedLeadership): unknown => method.call(this, leadership);
        await ticks.run(dueOf(job), work, (scheduledMs) => previousDueOf(job, scheduledMs));
      },
    });
    Cron(cronTime, cronOptions)(target, key, descriptor);
  };
}

/**
 * Adds an `onModuleDestroy` that closes a service's ticks, and then calls the service's own hook, if it has one. Nest destroys a
 * module before the modules that it imports.
 */
function closeBeforeShutdown<Service extends object>(
  target: Service,
  close: (service: Service) => Promise<void> | undefined,
): void {
  const hooked = target as { onModuleDestroy?: () => unknown };
  const own = hooked.onModuleDestroy;
  hooked.onModuleDestroy = async function onModuleDestroy(this: Service) {
    await close(this);
    await own?.call(this);
  };
}
