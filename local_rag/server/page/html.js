// Preact and htm, and what is missing there: a component that is drawn anew only when a property changes.
import { Component, h } from "./vendor/preact.js";
export {
  h, html, render, Component, useState, useReducer, useEffect, useLayoutEffect, useRef, useMemo, useCallback,
} from "./vendor/preact.js";

export function memo(inner) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const keys = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      return [...keys].some((key) => this.props[key] !== next[key]);
    }
    render(props) {
      return h(inner, props);
    }
  };
}
