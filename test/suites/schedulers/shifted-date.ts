/** Sets the wall clock of this process back by `ms`, also for modules that are loaded later. */
export function setWallClockBack(ms: number): void {
  const Real = Date;
  globalThis.Date = new Proxy(Real, {
    construct: (target, args: [], self) =>
      Reflect.construct(target, args.length === 0 ? [Real.now() - ms] : args, self) as object,
    get: (target, name): unknown => (name === "now" ? () => Real.now() - ms : Reflect.get(target, name)),
  });
}
