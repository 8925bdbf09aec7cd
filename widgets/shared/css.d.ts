/** The build turns a style sheet into a minified string. */
declare module "*.css" {
  const text: string;
  export default text;
}
