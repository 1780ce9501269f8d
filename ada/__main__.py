from ada.cli import main

if __name__ == "__main__":
    main()
