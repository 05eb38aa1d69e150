import DefaultTheme from "vitepress/theme";
import { defineAsyncComponent, defineComponent, h } from "vue";
import type { Theme } from "vitepress";
import { rememberStore } from "../remembered-store.ts";
import "./style.css";

export default {
  extends: DefaultTheme,
  Layout: defineComponent(() => {
    rememberStore();
    return () => h(DefaultTheme.Layout);
  }),
  enhanceApp({ app }) {
    app.component(
      "Playground",
      defineAsyncComponent(() => import("../../playground/playground.vue")),
    );
  },
} satisfies Theme;
