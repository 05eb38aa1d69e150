import { launch, type Browser as Chromium, type Page } from "puppeteer-core";
import { CHROMIUM, programPath } from "../backends/programs.ts";

/** The time that one step of the browser may take on a busy machine. */
const PATIENCE_MS = 300_000;

/** Debian's Chromium, without a window. Scripts for its pages are given as text, because they do not run in this program. */
export class Browser implements AsyncDisposable {
  readonly #chromium: Chromium;

  private constructor(chromium: Chromium) {
    this.#chromium = chromium;
  }

  /** Starts the browser. Every name that ends in `.example` resolves to this machine. */
  static async start(): Promise<Browser> {
    const args = ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1"];
    const patience = { timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS };
    return new Browser(await launch({ executablePath: await programPath(CHROMIUM), args, ...patience }));
  }

  /** Opens a page in a new context, which has no other pages and no cookies. */
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

  /** Returns the text of the first element that the selector finds. */
  async text(selector: string): Promise<unknown> {
    return await this.value(`document.querySelector(${JSON.stringify(selector)})?.textContent`);
  }

  /** Resolves once the expression is true. Evaluates it again whenever the page changes. */
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
