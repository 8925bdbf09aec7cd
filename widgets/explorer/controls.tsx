/** The controls: what a menu, a button or a box looks like; what they show, `placelab.app.widgets.controls` says. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Of } from "../shared/commands.ts";
import { COMPUTING } from "../shared/current.ts";
import { Failed, Figures, Par, Running, Table } from "./displays.tsx";
import { type Part, partOf, type Whole } from "./part.ts";
import { Sensitivity } from "./sensitivity.tsx";
import { begin, inside, valueAt } from "./slider.ts";
import type {
  BoundedIntTextTraits,
  BoxTraits,
  ButtonTraits,
  CheckboxTraits,
  ComboboxTraits,
  ControlTraits,
  DropdownTraits,
  FloatSliderTraits,
  HTMLTraits,
  IntTextTraits,
  PartTraits,
  Reference,
  SelectionTraits,
  StackTraits,
  TextTraits,
  ToggleButtonTraits,
} from "./traits.ts";
import { type Given, sets, useComputing, useLook, useTraits } from "./use.ts";
import { VIEWS } from "./views.ts";

type Draw = (given: Given<never>) => JSX.Element;

const typedIn = (event: Event) => (event.currentTarget as HTMLInputElement).value;
/** Keys that are typed are no shortcuts of the notebook. */
const TYPED = { "data-lm-suppress-shortcuts": "true" };

// -------------------------------------------------------------------- text and buttons

function Html({ model }: Given<HTMLTraits>) {
  const { value } = useTraits(model, "value");
  const content = <div class="pl-content" dangerouslySetInnerHTML={{ __html: value }} />; // the kernel has escaped what strangers wrote
  return <div {...useLook(model, "pl-html")}>{content}</div>;
}

function Button({ model }: Given<ButtonTraits, Of<"click">>) {
  const { description, disabled, tooltip } = useTraits(model, "description", "disabled", "tooltip");
  const click = () => model.send({ kind: "click" });
  return (
    <button type="button" {...useLook(model, "pl-button")} title={tooltip} disabled={disabled} onClick={click}>
      {description}
    </button>
  );
}

function ToggleButton({ model }: Given<ToggleButtonTraits>) {
  const { value, description, tooltip } = useTraits(model, "value", "description", "tooltip");
  const press = () => sets(model, "value")(!model.get("value"));
  const look = useLook(model, "pl-button");
  return (
    <button type="button" {...look} title={tooltip} aria-pressed={value} onClick={press}>
      {description}
    </button>
  );
}

function Checkbox({ model }: Given<CheckboxTraits>) {
  const { value, description, tooltip } = useTraits(model, "value", "description", "tooltip");
  const tick = (event: Event) => sets(model, "value")((event.currentTarget as HTMLInputElement).checked);
  return (
    <label {...useLook(model, "pl-check")} title={tooltip}>
      <input type="checkbox" checked={value} onChange={tick} />
      {description}
    </label>
  );
}

// -------------------------------------------------------------------- one of several

function Dropdown({ model }: Given<DropdownTraits>) {
  const { labels, index, missing, description, tooltip } = useTraits(
    model,
    ...(["labels", "index", "missing", "description", "tooltip"] as const),
  );
  const choose = (event: Event) => sets(model, "index")((event.currentTarget as HTMLSelectElement).selectedIndex);
  const menu = useRef<HTMLSelectElement>(null);
  useLayoutEffect(() => {
    if (menu.current) menu.current.selectedIndex = index; // also where a choice was refused
  });
  const options = labels.map((label) => (
    <option key={label} disabled={label in missing} title={missing[label] ?? ""}>
      {label}
    </option>
  ));
  return (
    <Labelled model={model} kind="pl-menu" description={description} tooltip={tooltip}>
      {(id) => (
        <select id={id} ref={menu} title={tooltip} onChange={choose}>
          {options}
        </select>
      )}
    </Labelled>
  );
}

function ToggleButtons({ model }: Given<SelectionTraits>) {
  const { labels, index } = useTraits(model, "labels", "index");
  const choose = sets(model, "index");
  const buttons = labels.map((label, i) => (
    <button key={label} type="button" class="pl-tab" aria-pressed={i === index} onClick={() => choose(i)}>
      {label}
    </button>
  ));
  return <div {...useLook(model, "pl-choices")}>{buttons}</div>;
}

// -------------------------------------------------------------------- fields and sliders

interface LabelledBy {
  model: Part<ControlTraits>;
  kind: string;
  description: string;
  tooltip: string;
  children: (id: string) => ComponentChildren;
}

/** A control after its label. */
function Labelled({ model, kind, description, tooltip, children }: LabelledBy) {
  const id = useId();
  return (
    <div {...useLook(model, kind)}>
      <label class="pl-name" for={id} title={tooltip}>
        {description}
      </label>
      {children(id)}
    </div>
  );
}

interface Field<V> {
  value: V;
  description: string;
}

/** A field whose value is sent when it is left or on Enter; what is being typed stays until another value comes. */
function useField<V extends string | number>(model: Part<Field<V> & ControlTraits>, read: (text: string) => V) {
  const { value } = useTraits(model, "value");
  const field = useRef<HTMLInputElement>(null);
  const show = () => {
    if (field.current) field.current.value = String(model.get("value"));
  };
  useLayoutEffect(show, [value]);
  const change = (event: Event) => {
    const given = read(typedIn(event));
    if (Number.isNaN(given)) return show();
    sets(model, "value")(given as (Field<V> & ControlTraits)["value"]);
  };
  return { ref: field, onChange: change, ...TYPED };
}

function Text({ model, list, onEnter }: Given<TextTraits> & { list?: string[]; onEnter?: () => void }) {
  const { description, placeholder, tooltip } = useTraits(model, "description", "placeholder", "tooltip");
  const field = useField(model, String);
  const enter = (event: KeyboardEvent) => event.key === "Enter" && onEnter?.();
  return (
    <Labelled model={model} kind="pl-field" description={description} tooltip={tooltip}>
      {(id) => (
        <>
          <input id={id} type="text" {...field} placeholder={placeholder} list={`${id}-list`} onKeyUp={enter} />
          {list && (
            <datalist id={`${id}-list`}>
              {list.map((text) => (
                <option key={text} value={text} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
}

function Combobox({ model, whole }: Given<ComboboxTraits, Of<"submit">>) {
  const { options } = useTraits(model, "options");
  return <Text model={model} whole={whole} list={options} onEnter={() => model.send({ kind: "submit" })} />;
}

const numberOf = (text: string) => (text.trim() ? Number(text) : Number.NaN);

interface Numbers {
  bounds?: { min: number; max: number };
  integer?: boolean;
}

function NumberField({ model, bounds, integer = false }: Given<IntTextTraits> & Numbers) {
  const { description, tooltip } = useTraits(model, "description", "tooltip");
  const field = useField(model, (text) => (integer ? Math.round(numberOf(text)) : numberOf(text)));
  return (
    <Labelled model={model} kind="pl-field" description={description} tooltip={tooltip}>
      {(id) => <input id={id} type="number" step={integer ? 1 : "any"} title={tooltip} {...field} {...bounds} />}
    </Labelled>
  );
}

function IntText(given: Given<IntTextTraits>) {
  return <NumberField {...given} integer />;
}

function BoundedIntText(given: Given<BoundedIntTextTraits>) {
  return <NumberField {...given} bounds={useTraits(given.model, "min", "max")} integer />;
}

type SliderGiven = Given<FloatSliderTraits> & { powers?: boolean; integer?: boolean };

function Slider({ model, powers = false, integer = false }: SliderGiven) {
  const { value, min, max, step, above, description, tooltip, readout, typed } = useTraits(
    model,
    ...(["value", "min", "max", "step", "above", "description", "tooltip", "readout", "typed"] as const),
  );
  const range = { min, max, step, above };
  const at = powers ? Math.log10(value) : value;
  const slide = (event: Event) => sets(model, "value")(valueAt(Number(typedIn(event)), range, powers));
  const read = (text: string) => inside(integer ? Math.round(numberOf(text)) : numberOf(text), range, powers);
  const said = powers ? `${Number(value.toPrecision(3))}` : undefined;
  const name = typed ? "pl-slider pl-typed" : "pl-slider";
  return (
    <Labelled model={model} kind={name} description={description} tooltip={tooltip}>
      {(id) => (
        <>
          <input
            type="range"
            {...{ id, min: begin(range), max, step, value: at, title: tooltip }}
            aria-valuetext={said}
            onInput={slide}
          />
          {typed && <SliderField model={model} name={description} read={read} />}
          {readout && !typed && <output for={id}>{Number(value.toPrecision(3))}</output>}
        </>
      )}
    </Labelled>
  );
}

interface Typed {
  model: Part<FloatSliderTraits>;
  name: string;
  read: (text: string) => number;
}

/** The number beside a slider, to be typed. */
function SliderField({ model, name, read }: Typed) {
  return <input type="number" step="any" aria-label={name} {...useField(model, read)} />;
}

function IntSlider(given: Given<FloatSliderTraits>) {
  return <Slider {...given} integer />;
}

function LogSlider(given: Given<FloatSliderTraits>) {
  return <Slider {...given} powers />;
}

// -------------------------------------------------------------------- boxes

function box(kind: string) {
  return function Boxed({ model, whole }: Given<BoxTraits>) {
    const { children } = useTraits(model, "children");
    return (
      <div {...useLook(model, kind)}>
        <Parts whole={whole} references={children} />
      </div>
    );
  };
}

function Stack({ model, whole }: Given<StackTraits>) {
  const { children, selected_index } = useTraits(model, "children", "selected_index");
  const [seen] = children.slice(selected_index, selected_index + 1);
  return (
    <div {...useLook(model, "pl-box")}>
      {seen && (
        <div key={seen[0]} class="pl-leaf">
          <Parts whole={whole} references={[seen]} />
        </div>
      )}
    </div>
  );
}

/** A view with a module of its own, in an element of its own. */
function Mounted({ model, kind }: { model: Part<PartTraits>; kind: string }) {
  const computing = useComputing(model);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const end = VIEWS[kind]!.render({ model: model as Part<never>, el: element.current! });
    return () => void (typeof end === "function" && end());
  }, [model]);
  useLayoutEffect(() => void element.current!.classList.toggle(COMPUTING, computing !== "")); // views set classes, too
  return <div class="pl-view" ref={element} />;
}

/** By the name of the class in Python. */
export const CONTROLS: Record<string, Draw> = {
  HTML: Html,
  Button,
  ToggleButton,
  Checkbox,
  Dropdown,
  ToggleButtons,
  Text,
  Combobox,
  IntText,
  BoundedIntText,
  FloatText: NumberField,
  IntSlider,
  FloatSlider: Slider,
  FloatLogSlider: LogSlider,
  Running,
  Failed,
  Table,
  Figures,
  Par,
  Sensitivity,
  HBox: box("pl-box"),
  VBox: box("pl-box pl-column"),
  Stack,
} as Record<string, Draw>;

function One({ whole, name, kind }: { whole: Whole; name: string; kind: string }) {
  const model = useMemo(() => partOf<never>(whole, name), [whole, name]);
  const Control = CONTROLS[kind];
  return Control ? (
    <Control model={model} whole={whole} />
  ) : (
    <Mounted model={model as unknown as Part<PartTraits>} kind={kind} />
  );
}

/** Some parts, one after the other. */
export function Parts({ whole, references }: { whole: Whole; references: Reference[] }) {
  return (
    <>
      {references.map(([name, kind]) => (
        <One key={name} whole={whole} name={name} kind={kind} />
      ))}
    </>
  );
}
