import { launch, type Browser as Chromium, type Page } from "puppeteer-core";
import { CHROMIUM, programPath } from "@leasehold/test-kit/backends/programs";

/** What a busy machine needs for one step of the browser. */
const PATIENCE_MS = 300_000;

/** Debian's Chromium, without a window. What runs in its pages is given as text: it is none of this program's. */
export class Browser implements AsyncDisposable {
  readonly #chromium: Chromium;

  private constructor(chromium: Chromium) {
    this.#chromium = chromium;
  }

  /** Every name that ends in `.example` is this machine. */
  static async start(): Promise<Browser> {
    const args = ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1"];
    const patience = { timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS };
    return new Browser(await launch({ executablePath: await programPath(CHROMIUM), args, ...patience }));
  }

  /** A page of somebody who has nothing open yet. */
  async page(): Promise<Tab> {
    const context = await this.#chromium.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    return new Tab(page, async () => await context.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chromium.close();
  }
}

/** One page of a browser. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly #close: () => Promise<void>;

  constructor(page: Page, close: () => Promise<void>) {
    this.page = page;
    this.#close = close;
  }

  /** Evaluates an expression, which may be a promise. */
  async value(expression: string): Promise<unknown> {
    return await this.page.evaluate(expression);
  }

  /** The text of the first element that the selector finds. */
  async text(selector: string): Promise<unknown> {
    return await this.value(`document.querySelector(${JSON.stringify(selector)})?.textContent`);
  }

  /** Resolves once the expression is true: it is looked at again whenever the page changes. */
  async until(expression: string): Promise<void> {
    await this.page.waitForFunction(expression, { polling: "mutation" });
  }

  async untilText(selector: string, expected: string): Promise<void> {
    await this.until(`document.querySelector(${JSON.stringify(selector)})?.textContent === ${JSON.stringify(expected)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
