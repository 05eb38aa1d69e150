import type { DemoEvent } from "./demo-event.ts";

/** What shows the demo while it runs; disposing of it leaves the terminal as it was. */
export interface View extends Disposable {
  show(event: DemoEvent): void;
}
